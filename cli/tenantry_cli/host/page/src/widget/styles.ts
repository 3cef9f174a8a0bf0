import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";

type Variables = NonNullable<NonNullable<McpUiHostContext["styles"]>["variables"]>;

const SHAPE = {
  "--font-sans": "ui-sans-serif, system-ui, sans-serif",
  "--font-mono": "ui-monospace, monospace",
  "--font-weight-normal": "400",
  "--font-weight-medium": "500",
  "--font-weight-semibold": "600",
  "--font-weight-bold": "700",
  "--font-text-xs-size": "12px",
  "--font-text-sm-size": "14px",
  "--font-text-md-size": "16px",
  "--font-text-lg-size": "18px",
  "--font-heading-md-size": "20px",
  "--font-heading-lg-size": "24px",
  "--border-radius-sm": "6px",
  "--border-radius-md": "10px",
  "--border-radius-lg": "14px",
  "--border-radius-full": "9999px",
  "--border-width-regular": "1px",
};

const LIGHT = {
  "--color-background-primary": "#ffffff",
  "--color-background-secondary": "#f4f4f4",
  "--color-background-tertiary": "#ececec",
  "--color-background-inverse": "#0d0d0d",
  "--color-text-primary": "#0d0d0d",
  "--color-text-secondary": "#5d5d5d",
  "--color-text-tertiary": "#767676",
  "--color-text-inverse": "#ffffff",
  "--color-border-primary": "#e5e5e5",
  "--color-border-secondary": "#d0d0d0",
  "--color-ring-primary": "#0169cc",
};

const DARK = {
  "--color-background-primary": "#212121",
  "--color-background-secondary": "#303030",
  "--color-background-tertiary": "#414141",
  "--color-background-inverse": "#ffffff",
  "--color-text-primary": "#ffffff",
  "--color-text-secondary": "#cdcdcd",
  "--color-text-tertiary": "#a0a0a0",
  "--color-text-inverse": "#0d0d0d",
  "--color-border-primary": "#424242",
  "--color-border-secondary": "#5a5a5a",
  "--color-ring-primary": "#66b5ff",
};

/** The style variables of MCP Apps that this host gives. */
export function styles(theme: "light" | "dark"): Variables {
  return { ...SHAPE, ...(theme === "dark" ? DARK : LIGHT) } as Variables;
}
