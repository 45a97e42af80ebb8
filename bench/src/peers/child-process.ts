import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Answer, Question, Task } from './protocol.ts'

/** How long a contender may take for one answer, and to end. A lost job must not stop the whole run. */
const ANSWER_MS = 600_000
const END_MS = 15_000

/** A process of a contender, as the process that measures sees it. */
export class ContenderProcess {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  /** Jobs whose handler has run, as far as it has said. */
  handled = 0

  private constructor(task: Task) {
    this.#child = fork(new URL('./child.ts', import.meta.url), [JSON.stringify(task)], {
      // Copies typed arrays.
      serialization: 'advanced',
    })
    this.#ended = once(this.#child, 'exit')
    this.#child.on('message', (answer: Answer) => {
      if ('handled' in answer) this.handled = answer.handled
    })
  }

  static async start(task: Task): Promise<ContenderProcess> {
    const started = new ContenderProcess(task)
    await started.#answer('ready')
    return started
  }

  /** The reply whose key is given. */
  async ask<Key extends string>(
    question: Question,
    key: Key,
  ): Promise<Extract<Answer, Record<Key, unknown>>> {
    const answer = this.#answer(key)
    this.#child.send(question)
    return answer
  }

  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.send({ stop: true } satisfies Question)
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_MS)
    await this.#ended
    clearTimeout(timer)
  }

  #answer<Key extends string>(key: Key): Promise<Extract<Answer, Record<Key, unknown>>> {
    const child = this.#child
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        child.off('message', hear)
        child.off('exit', exited)
        act()
      }
      const fail = (what: string) => settle(() => reject(new Error(`A process failed: ${what}`)))
      const exited = () => fail('it ended')
      const timer = setTimeout(() => fail(`no ${key} within ${ANSWER_MS / 60_000} min`), ANSWER_MS)
      const hear = (answer: Answer) => {
        if ('failed' in answer) fail(answer.failed)
        else if (key in answer) settle(() => resolve(answer as Extract<Answer, Record<Key, unknown>>))
      }
      child.on('message', hear)
      child.on('exit', exited)
    })
  }
}
