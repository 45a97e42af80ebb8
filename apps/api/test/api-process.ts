import { fileURLToPath } from 'node:url'
import { Program } from '@oncue/testing'
import { onTestFinished } from 'vitest'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** The command that people start, in a process of its own; gone when the test is over. */
export class ApiProcess extends Program {
  constructor(env: Record<string, string>, args: readonly string[] = []) {
    super(MAIN, args, { env: { ONCUE_PORT: '0', ...env } })
    onTestFinished(async () => void (await this.stop('SIGKILL')))
  }

  /** Its address, once it serves. */
  async url(): Promise<string> {
    return String((await this.said('API started')).url)
  }
}

/** One that serves. */
export async function startProcess(databaseUrl: string, env: Record<string, string> = {}) {
  const process = new ApiProcess({ DATABASE_URL: databaseUrl, ...env })
  return { process, url: await process.url() }
}
