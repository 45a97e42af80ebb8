import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { eventually } from '@oncue/testing'
import { onTestFinished } from 'vitest'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export interface ApiProcess {
  readonly url: string
  readonly child: ChildProcess
  /** All that it printed. */
  output(): string
}

/** The command that people start, in a process of its own. */
export async function startProcess(
  databaseUrl: string,
  env: Record<string, string> = {},
): Promise<ApiProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: { DATABASE_URL: databaseUrl, ONCUE_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const url = await eventually(() => {
    const found = /"url":"([^"]+)"/.exec(output)?.[1]
    if (found === undefined) throw new Error(`it did not start: ${output}`)
    return found
  })
  return { url, child, output: () => output }
}

export async function stop({ child }: ApiProcess): Promise<number | null> {
  child.kill('SIGTERM')
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}
