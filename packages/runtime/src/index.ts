export { type BackoffOptions, backoff, Outage, type OutageOptions } from './backoff.ts'
export {
  type Runtime,
  type SleepOptions,
  systemRuntime,
  type Thread,
  type ThreadOptions,
  type Timer,
} from './clock.ts'
export { formatDuration, parseDuration } from './duration.ts'
export { Leader, type LeaderOptions, Term, type TermOptions, type Terms } from './leader.ts'
export { type Logger, silentLogger } from './logger.ts'
export { Loop, type LoopOptions } from './loop.ts'
export { type PausableRuntime, pausable } from './pausable.ts'
export { abortable, type Service, type SlowService, startAll, together, toService } from './service.ts'
export { Signal } from './signal.ts'
export { type Simulation, type SimulationOptions, simulate } from './simulation.ts'
export { timeoutSignal, withTimeout } from './timeout.ts'
