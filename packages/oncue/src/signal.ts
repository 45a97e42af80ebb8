import { OncueError } from '@oncue/core'
import { encodeSignal } from '@oncue/core/internal'
import { plain } from '@oncue/db/cli'
import type { Command } from 'commander'
import { toJson } from './arguments.ts'
import { checkSignal } from './check-payload.ts'
import { implement, withStore } from './command.ts'
import { fullId } from './show.ts'

interface Options {
  readonly key?: string
}

export function addSignal(program: Command): void {
  implement<Options>(
    program
      .command('signal')
      .description('send a signal to a job that waits for it, or will')
      .argument('<id>', 'job id, or the beginning or the end of one')
      .argument('<name>', 'a signal that the topic of the job names')
      .argument('[json]', 'its data, as JSON', 'null')
      .option('--key <key>', 'of several signals with the same name and key, the job gets one'),
    [`01a2b3c4-… bank '{"ok":true}'`, '5d6e7f80 stop'],
    withStore('writing', async (store, { args: [id, name, json], options: { key }, note }) => {
      const job = await store.get(await fullId(store, String(id)))
      if (!job) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
      const data = encodeSignal(readData(String(json)))
      const signal = String(name)
      await checkSignal(store, note, job.topic, signal, JSON.parse(data))
      await store.durable.signal({ id: job.id, name: signal, data, key })
      return {
        text: `signal ${plain(signal)} sent to ${plain(job.topic)} ${job.id}`,
        json: { id: job.id, name: signal },
      }
    }),
  )
}

function readData(json: string): unknown {
  try {
    return toJson(json)
  } catch (cause) {
    throw new OncueError('INVALID_SIGNAL', `the data of the signal: ${(cause as Error).message}`, { cause })
  }
}
