import nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { openStore } from '@oncue/db'
import { createProgram, implement, runProgram, toList } from '@oncue/db/cli'
import { createLogger } from '@oncue/worker'
import { type Config, importRunner, readConfig } from '@oncue/worker/command'
import type { Call } from './command.ts'
import type { FromWorker, ToWorker } from './dev-messages.ts'

/** A process that runs the handlers for `oncue dev`, which replaces it when a file of theirs changes. */

const tell = (message: FromWorker) => void process.send?.(message)

/** The parent decides when to stop. Ctrl-C does not reach this process, which has a group of its own. */
function stop(): void {
  if (!process.emit('SIGTERM')) process.exit()
}
process.on('message', (message: ToWorker) => {
  if (message.kind === 'stop') stop()
})
process.on('disconnect', stop)

/** Reports every file that the modules load from here on, apart from installed packages. */
function reportFiles(): void {
  // Node ≥ 22.15. Without it, handlers are not restarted.
  nodeModule.registerHooks?.({
    load(url, context, next) {
      if (url.startsWith('file:') && !url.includes('/node_modules/'))
        tell({ kind: 'file', path: fileURLToPath(url) })
      return next(url, context)
    },
  })
}

function untilOpen(signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'open') resolve(message.url)
    })
    tell({ kind: 'loaded' })
  })
}

async function run(call: Call<{ readonly import?: string[] }>): Promise<undefined> {
  const { config, options, schema } = call
  reportFiles()
  const { runModules } = await importRunner()
  const log = createLogger({ level: config.logLevel, ...(options.json && { pretty: false }) })
  const code = await runModules(call, log, async (signal) => {
    const store = await openStore(await untilOpen(signal), { schema, signal })
    return { store, close: () => store.close() }
  })
  // Resources that the modules keep open must not keep the process alive.
  process.exit(code)
}

const program = createProgram('oncue dev').option('--import <module>', 'a module', toList)
await runProgram(
  implement<{ readonly import?: string[] }, Config>(program, {
    ...{ examples: [], readConfig, saysDatabase: false, run },
  }),
)
process.channel?.unref()
