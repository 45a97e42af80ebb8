import { OncueError } from '@oncue/core'
import { encodeAnswer } from '@oncue/core/internal'
import type { Question } from '@oncue/core/wire'
import { plain } from '@oncue/db/cli'
import type { Command } from 'commander'
import { toJson } from './arguments.ts'
import { checkAnswer } from './check-payload.ts'
import { implement, whoami, withStore } from './command.ts'
import { fromNow, table } from './format.ts'
import { fullId } from './show.ts'

/** What handlers ask people: `questions`, `answer`. */
export function addQuestions(program: Command): void {
  implement<{ readonly topic?: string }>(
    program
      .command('questions')
      .description('list the open questions of jobs, the oldest first')
      .option('--topic <topic>', 'of jobs of this topic'),
    ['', '--topic refund'],
    withStore('reading', async (store, { options: { topic } }) => {
      const [found, now] = await Promise.all([store.questions({ topic }), store.now()])
      const rows = found.map((question) => toRow(question, now))
      return { text: found.length > 0 ? table(TITLES, rows) : 'no open questions', json: found }
    }),
  )
  implement<{ readonly by: string }>(
    program
      .command('answer')
      .description('answer an open question of a job')
      .argument('<id>', 'job id, or the beginning or the end of one')
      .argument('<name>', 'the name of the question')
      .argument('<json>', 'the answer, as JSON')
      .option('--by <name>', 'your name, for the job', whoami()),
    [`01a2b3c4-… approve '{"ok":true}'`],
    withStore('writing', async (store, { args: [given, name, json], options: { by }, note }) => {
      const id = await fullId(store, String(given))
      const question = String(name)
      const value = encodeAnswer(readAnswer(String(json)))
      const check = (asked: Question) => checkAnswer(store, note, asked, JSON.parse(value))
      await store.durable.answer({ id, name: question, value, by, check })
      return { text: `question ${plain(question)} of ${id} answered`, json: { id, name: question } }
    }),
  )
}

const TITLES = ['JOB', 'NAME', 'TOPIC', 'ASKED', 'UNTIL', 'QUESTION']

function toRow({ id, name, topic, since, until, question, refused }: Question, now: Date): string[] {
  return [
    id,
    plain(name, 24),
    plain(topic, 40),
    fromNow(since, now),
    until ? fromNow(until, now) : '',
    `${plain(question, 80)}${refused === null ? '' : `  (last answer refused: ${plain(refused, 80)})`}`,
  ]
}

function readAnswer(json: string): unknown {
  try {
    return toJson(json)
  } catch (cause) {
    throw new OncueError('INVALID_ANSWER', `the answer: ${(cause as Error).message}`, { cause })
  }
}
