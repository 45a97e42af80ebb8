import { isOncueError } from '@oncue/core'
import { watchForEnd } from './end.ts'
import { EXIT, HELP, type Options, readOptions } from './options.ts'
import { generateClients } from './prepare.ts'
import { say } from './progress.ts'

/** Returns the exit code, when it is over. */
export async function start(args: readonly string[]): Promise<number> {
  let options: Options
  try {
    options = readOptions(args)
  } catch (error) {
    return fail(error, EXIT.usage)
  }
  if (options.help) {
    say(HELP)
    return EXIT.done
  }
  const end = watchForEnd()
  try {
    await generateClients(end.asked)
    // Imported only now, because it needs the generated clients.
    const { run } = await import('./run.ts')
    return await run(options, end)
  } catch (error) {
    // A step that was interrupted has failed because of that.
    if (end.asked.aborted && end.error === undefined) {
      say('\nInterrupted.')
      return EXIT.interrupted
    }
    return fail(end.error ?? error, EXIT.failed)
  }
}

function fail(error: unknown, code: number): number {
  const text = isOncueError(error) ? `${error.message}\n${error.hint}` : ((error as Error)?.stack ?? error)
  process.stderr.write(`\n${text}\n`)
  return code
}
