import { OncueError } from '@oncue/core'
import { implementRemote, type RemoteCall } from '@oncue/db/cli'
import { type Config, readConfig } from '@oncue/worker/command'
import type { Command } from 'commander'

interface Options {
  readonly server?: string
  readonly readOnly?: true
}

/** The token has no option: other users of the machine see the arguments of a process. */
export function addMcp(program: Command): void {
  implementRemote<Options, Config>(
    program
      .command('mcp')
      .summary('serve the queue to an AI assistant, over MCP')
      .description(
        'serve the queue to an AI assistant: a server of the Model Context Protocol on standard input and output, which calls the API with the token in ONCUE_TOKEN and offers what its role may do',
      )
      .option('--server <url>', 'the address of the API  (default: ONCUE_URL)')
      .option('--read-only', 'offer nothing that changes jobs or queues, whatever the token may do'),
    { examples: ['--server https://oncue.example.com', '--read-only'], readConfig, run },
  )
}

async function run({ options, config }: RemoteCall<Options, Config>): Promise<undefined> {
  const url = options.server ?? config.serverUrl
  if (url === undefined)
    throw new OncueError('INVALID_INPUT', 'The address of the API is missing', {
      hint: 'Give it with --server https://oncue.example.com, or in ONCUE_URL.',
    })
  if (config.token === undefined)
    throw new OncueError('UNAUTHORIZED', 'ONCUE_TOKEN is not set', {
      hint: 'Set ONCUE_TOKEN to a token of the API: a viewer reads, an operator acts.',
    })
  const { serveTools } = await import('./serve.ts')
  await serveTools({ url, token: config.token, readOnly: options.readOnly ?? false })
}
