import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Answer, Question, Usage } from './contender.ts'

/** A worker in a process of its own, as its parent sees it. */
export class WorkerProcess {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(name: string, url: string): Promise<WorkerProcess> {
    const child = fork(new URL('./child.ts', import.meta.url), [name, url], { execArgv: ['--expose-gc'] })
    const process = new WorkerProcess(child)
    await process.#answer('ready')
    return process
  }

  async expect(jobs: number, profile = false): Promise<{ ranAll: Promise<void> }> {
    const expecting = this.#answer('expecting')
    this.#send({ expect: jobs, profile })
    await expecting
    return { ranAll: this.#answer('ranAll').then(() => {}) }
  }

  go(): void {
    this.#send({ go: true })
  }

  async report(): Promise<Usage> {
    this.#send({ report: true })
    return (await this.#answer('report')).report
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#send({ stop: true })
    await ended
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #send(question: Question): void {
    this.#child.send(question)
  }

  async #answer<Key extends string>(key: Key): Promise<Extract<Answer, Record<Key, unknown>>> {
    const ending = new AbortController()
    try {
      const [answer] = (await Promise.race([
        once(this.#child, 'message', { signal: ending.signal }),
        once(this.#child, 'exit', { signal: ending.signal }).then(() => [{ failed: 'the process ended' }]),
      ])) as [Answer]
      if ('failed' in answer) throw new Error(`A worker process failed: ${answer.failed}`)
      if (!(key in answer)) throw new Error(`A worker process said ${JSON.stringify(answer)}, not ${key}`)
      return answer as Extract<Answer, Record<Key, unknown>>
    } finally {
      ending.abort()
    }
  }
}
