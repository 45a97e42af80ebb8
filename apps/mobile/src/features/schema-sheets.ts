/** Forms that are made from a JSON Schema: a browser loads all of them with the first one that is shown. */
export { SignalSheet } from './jobs/signal-sheet.tsx'
export { AnswerSheet } from './questions/answer-sheet.tsx'
export { EnqueueSheet } from './topics/enqueue-sheet.tsx'
