import { appendFile, readFile } from 'node:fs/promises'

const ORDERS: Readonly<Record<string, { readonly cents: number; readonly delivered: boolean }>> = {
  a7: { cents: 500, delivered: false },
  b8: { cents: 900, delivered: true },
}

/** Stands for the services behind the tools. Every call is a line of a file, which outlives the worker. */
export class Shop {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  async findOrder(orderId: string) {
    await appendFile(this.#file, `find_order ${orderId}\n`)
    return ORDERS[orderId] ?? { cents: 0, delivered: false }
  }

  /** A repeated call with the same key would do nothing, were this a real bank. */
  async refund(orderId: string, cents: number, idempotencyKey: string): Promise<string> {
    await appendFile(this.#file, `refund ${orderId} ${cents} ${idempotencyKey}\n`)
    return `We have refunded ${cents} cents.`
  }

  async calls(): Promise<string[]> {
    const text = await readFile(this.#file, 'utf8').catch(() => '')
    return text.split('\n').slice(0, -1)
  }
}
