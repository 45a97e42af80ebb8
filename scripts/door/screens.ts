import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'

export const name = 'screens'
export const summary = 'the pictures in docs/screens show the screens as the built app has them'

/** By the script that takes them: it knows what each screen looked like when its picture was taken. */
export async function run({ done }: { done(step: string): void }): Promise<void> {
  const args = ['--filter', '@oncue/mobile', 'screens', '--check']
  await promisify(execFile)('pnpm', args, { cwd: ROOT }).catch(({ stdout, stderr }) => {
    throw new Error(`${stdout}${stderr}`)
  })
  done('every picture shows its screen as it is')
}
