import { expect, it } from 'vitest'
import { framesOf } from './stack.ts'

const STACK = `SmtpTimeout: no answer
from smtp.example.com
    at send (/app/src/mail.ts:12:9)
    at digest (/app/src/digest.ts:40:3)
    at Client.run (/app/node_modules/smtp/client.js:8:1)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at main (file:///app/src/main.ts:3:1)`

it("separates frames of the user's code from those of libraries, in the order of the stack", () => {
  expect(framesOf(STACK)).toEqual([
    { isOwn: true, lines: ['at send (/app/src/mail.ts:12:9)', 'at digest (/app/src/digest.ts:40:3)'] },
    {
      isOwn: false,
      lines: [
        'at Client.run (/app/node_modules/smtp/client.js:8:1)',
        'at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
      ],
    },
    { isOwn: true, lines: ['at main (file:///app/src/main.ts:3:1)'] },
  ])
})

it('reads the frames of other engines', () => {
  expect(framesOf('send@/app/src/mail.ts:3:9\n[native code]')).toEqual([
    { isOwn: true, lines: ['send@/app/src/mail.ts:3:9'] },
  ])
})

it('finds no frame in a stack without any', () => {
  expect(framesOf('thrown: 42')).toEqual([])
})
