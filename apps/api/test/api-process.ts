import { fileURLToPath } from 'node:url'
import { Program } from '@oncue/testing'
import { onTestFinished } from 'vitest'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** The API command in its own process; stopped after the test. */
export class ApiProcess extends Program {
  constructor(env: Record<string, string>, args: readonly string[] = []) {
    super(MAIN, args, { env: { ONCUE_PORT: '0', ...env } })
    onTestFinished(async () => void (await this.stop('SIGKILL')))
  }

  /** Its address, once it is listening. */
  async url(): Promise<string> {
    return String((await this.said('API started')).url)
  }
}

/** Starts a process and waits until it is listening. */
export async function startProcess(databaseUrl: string, env: Record<string, string> = {}) {
  const process = new ApiProcess({ DATABASE_URL: databaseUrl, ...env })
  return { process, url: await process.url() }
}
