import pg from 'pg'
import type { Query } from '../../src/postgres/sql.ts'

export type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Searches'?: number
  readonly 'Actual Loops': number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

export type Explained = {
  /** One plan for each statement that ran; those inside functions come first. */
  readonly plans: readonly Plan[]
  readonly buffers: number
  readonly searches: number
}

/** A connection on which auto_explain reports the plan of every statement, also inside PL/pgSQL. */
export class Session {
  readonly #client: pg.Client
  #plans: Plan[] = []

  private constructor(client: pg.Client) {
    this.#client = client
    client.on('notice', ({ message = '' }) => {
      const json = message.indexOf('{')
      if (message.startsWith('duration:')) this.#plans.push(JSON.parse(message.slice(json)).Plan)
    })
  }

  static async open(url: string): Promise<Session> {
    const client = new pg.Client(url)
    await client.connect()
    await client.query('create temp sequence fixture')
    await client.query(`load 'auto_explain'`)
    const settings = [
      'min_duration = 0',
      'nested_statements = on',
      'analyze = on',
      'buffers = on',
      'timing = off',
    ]
    for (const setting of settings) await client.query(`set auto_explain.log_${setting}`)
    await client.query('set auto_explain.log_format = json')
    return new Session(client)
  }

  async count(condition: string): Promise<number> {
    const { rows } = await this.#client.query(`select count(*)::int as n from oncue.jobs where ${condition}`)
    return rows[0]?.n
  }

  async run(text: string, values: unknown[] = []): Promise<void> {
    await this.#client.query(text, values)
  }

  /**
   * Runs a warm-up, which fills the session's caches, and then the query, and rolls both back. A claim
   * warms up with one job: what a rollback leaves on the pages takes the room of heap-only updates
   * until it is pruned, and when that happens depends on transactions anywhere on the server.
   */
  async explain(query: Query, warmUp = query): Promise<Explained> {
    for (const [{ text, values }, level] of [
      [warmUp, 'notice'],
      [query, 'log'],
    ] as const) {
      await this.#client.query(`begin; set local client_min_messages = ${level}`)
      this.#plans = []
      await this.#client.query(text, values)
      await this.#client.query('rollback')
    }
    const plans = this.#plans
    // The statement itself ends last, and its buffers include those of everything it called.
    const whole = plans.at(-1)
    if (!whole) throw new Error('auto_explain said nothing')
    const searches = plans.flatMap(nodesOf).map(searchesOf)
    return {
      plans,
      buffers: whole['Shared Hit Blocks'] + whole['Shared Read Blocks'],
      searches: searches.reduce((sum, count) => sum + count, 0),
    }
  }

  /** A search that finds nothing reads one page of each level. */
  async levelsOfReadyIndex(): Promise<number> {
    await this.run('set enable_seqscan = off; set enable_bitmapscan = off')
    const text = `select from oncue.jobs where queue = '' and visible_at is not null`
    return (await this.explain({ text, values: [] })).buffers
  }

  close(): Promise<void> {
    return this.#client.end()
  }
}

export function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

function searchesOf(node: Plan): number {
  if (!node['Index Name']) return 0
  // Postgres counts them since 18; our plans need one for each loop.
  return node['Index Searches'] ?? node['Actual Loops']
}
