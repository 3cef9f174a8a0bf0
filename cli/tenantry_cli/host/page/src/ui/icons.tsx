const PATHS = {
  send: "M4 12l16-8-6 16-3-7z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6L6 18",
  back: "M14 6l-6 6 6 6",
  forward: "M10 6l6 6-6 6",
  expand: "M9 4H4v5M15 20h5v-5M4 4l6 6M20 20l-6-6",
  shrink: "M4 9h5V4M20 15h-5v5M9 9L4 4M15 15l5 5",
  out: "M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5",
  camera: "M4 8h3l2-3h6l2 3h3v11H4zM12 17a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.700-5.700l-1 1M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.700 5.700l1-1",
  code: "M9 7l-5 5 5 5M15 7l5 5-5 5",
  again: "M4 12a8 8 0 0 1 14-5.300L20 9M20 4v5h-5M20 12a8 8 0 0 1-14 5.300L4 15M4 20v-5h5",
  menu: "M4 7h16M4 12h16M4 17h16",
  model: "M12 4l7 4v8l-7 4-7-4V8zM12 12l7-4M12 12v8M12 12L5 8",
  widget: "M4 5h16v14H4zM4 10h16",
  messages: "M4 7h12l-3-3M20 17H8l3 3",
  console: "M5 7l4 5-4 5M12 17h7",
  shield: "M12 4l7 3v5c0 4-3 7-7 8-4-1-7-4-7-8V7z",
  logs: "M5 6h14M5 10h14M5 14h9M5 18h6",
  checks: "M4 7l2 2 3-3M4 16l2 2 3-3M12 8h8M12 17h8",
  request: "M4 5h16v4H4zM4 15h10M4 19h7M17 14v6l3-3",
  knobs: "M4 8h10M18 8h2M4 16h2M10 16h10M16 10.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM8 18.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-4 4-6 8-6s7 2 8 6",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5",
  moon: "M20 14a8 8 0 1 1-10-10 7 7 0 0 0 10 10z",
  form: "M4 5h16v14H4zM7 9h6M7 13h10",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function IconButton({ name, label, onClick, pressed, disabled }: { name: IconName; label: string; onClick: () => void; pressed?: boolean; disabled?: boolean }) {
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} aria-pressed={pressed} disabled={disabled} onClick={onClick}>
      <Icon name={name} />
    </button>
  );
}
