import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assertWritableFolder } from './prepare.ts'
import { ROOT } from './root.ts'

test('a repository that is not writable is reported before anything is built in it', async () => {
  await assertWritableFolder(ROOT)
  // Root may write everywhere, except where no folder exists.
  await expect(assertWritableFolder(join(ROOT, 'nowhere'))).rejects.toMatchObject({
    message: expect.stringMatching(/Cannot write in .*nowhere: ENOENT/),
    hint: expect.stringContaining('Clone the repository'),
  })
})
