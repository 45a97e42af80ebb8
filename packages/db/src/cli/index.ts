/** For the commands of Oncue, in every package that has one. */
export {
  readDuration,
  refuse,
  toDuration,
  toDurationOr,
  toDurationUpTo,
  toList,
  toWhole,
} from './arguments.ts'
export {
  addCommonOptions,
  addExamples,
  type Call,
  count,
  createProgram,
  EXIT,
  exitCodeOf,
  implement,
  implementRemote,
  type Output,
  plain,
  type RemoteCall,
  runProgram,
} from './command.ts'
export { declareMigrate } from './migrate.ts'
export { onStopSignals } from './stop-signals.ts'
