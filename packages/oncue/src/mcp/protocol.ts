import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

/** All that is used of the protocol's SDK. The published file is a bundle with it: scripts/bundle-protocol.ts. */

export interface ListedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: { readonly [key: string]: unknown; readonly type: 'object' }
  readonly annotations: {
    readonly title: string
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

export interface Served {
  readonly version: string
  readonly instructions: string
  /** Called each time that a client lists them: a token may have lost its role. */
  list(): Promise<readonly ListedTool[]>
  call(name: string, input: unknown): Promise<{ readonly text: string; readonly isError: boolean }>
}

/** Serves one client on standard input and output, until it closes them. */
export async function serve({ version, instructions, list, call }: Served): Promise<void> {
  // Of McpServer every client would see the same tools.
  const server = new Server({ name: 'oncue', version }, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [...(await list())] }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const { text, isError } = await call(params.name, params.arguments ?? {})
    return { content: [{ type: 'text', text }], isError }
  })
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve
  })
  process.stdin.once('end', () => void server.close())
  await server.connect(new StdioServerTransport())
  await closed
}
