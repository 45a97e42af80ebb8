import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Contender, DatabaseName } from './contender.ts'
import type { Measured } from './measurements.ts'

export interface Task {
  readonly contender: string
  readonly database: DatabaseName
  readonly url: string
  readonly round: number
}

export type Answer = { readonly measured: Measured } | { readonly failed: string }

/** How long a contender may take: a workflow that is lost must not stop the run. */
const PATIENCE_MS = 300_000

/** In a process of its own, so that no contender warms up or slows down another. */
export async function measureInProcess(
  { name, database }: Contender,
  url: string,
  round: number,
): Promise<Measured> {
  const task: Task = { contender: name, database, url, round }
  const child = fork(new URL('./child.ts', import.meta.url), [JSON.stringify(task)], { execArgv: [] })
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  const answers: Answer[] = []
  child.on('message', (message: Answer) => answers.push(message))
  await once(child, 'exit')
  clearTimeout(timer)
  const [answer = { failed: `the process of ${name} ended without a result` }] = answers
  if ('failed' in answer) throw new Error(answer.failed)
  return answer.measured
}
