import { Relay, type RelayOptions } from '@oncue/testing'
import { onTestFinished } from 'vitest'

/** A relay that is closed when the test is over. */
export async function startProxy(target: string, listen?: RelayOptions['listen']): Promise<Relay> {
  const relay = await Relay.start(target, listen && { listen })
  onTestFinished(() => relay.close())
  return relay
}

/** Counts the statements that go to Postgres over a proxy: the messages Query and Execute of its protocol. */
export class StatementCounter {
  count = 0

  readonly listen = () => {
    let left = Buffer.alloc(0)
    let isStarted = false
    return (chunk: Buffer) => {
      left = Buffer.concat([left, chunk])
      for (;;) {
        // The first message has no type, only a length.
        const head = isStarted ? 1 : 0
        if (left.length < head + 4) return
        const length = head + left.readInt32BE(head)
        if (left.length < length) return
        if (isStarted && isStatement(left.subarray(0, length))) this.count += 1
        isStarted = true
        left = left.subarray(length)
      }
    }
  }
}

/** A query or an execution, but not the setup statement of a connection: a busy pool opens a varying number of them. */
function isStatement(message: Buffer): boolean {
  const type = String.fromCharCode(message.readUInt8(0))
  return type === 'E' || (type === 'Q' && !message.includes("select set_config('TimeZone'"))
}
