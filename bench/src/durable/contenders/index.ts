import type { Contender } from '../contender.ts'
import { dbos } from './dbos.ts'
import { oncue } from './oncue.ts'

export const CONTENDERS: readonly Contender[] = [oncue('postgres'), dbos, oncue('sqlite')]
