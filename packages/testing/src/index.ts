export { Gate } from './gate.ts'
export {
  createFolder,
  type Folder,
  type Outcome,
  Program,
  type RunOptions,
  runProgramFile,
} from './program.ts'
export { Relay, type RelayOptions } from './relay.ts'
export { eventually, nap, observeFor, until } from './wait.ts'
