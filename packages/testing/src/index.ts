export { Gate } from './gate.ts'
export { eventually, nap, observeFor, until } from './wait.ts'
