// The TypeScript SDK of the 1.x line.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "tenantry-tests", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await client.listTools();
const shown = tools.find((tool) => tool.name === "find_elements");
const result = await client.callTool({ name: "find_elements", arguments: { family: "noble gas" } });
const page = await client.readResource({ uri: shown._meta.ui.resourceUri });
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name),
  structured: result.structuredContent,
  widget: page.contents[0].text,
}));
await client.close();
