#!/usr/bin/env node
import { createProgram, runProgram } from '@oncue/db/cli'
import { declareWorker } from './command.ts'

await runProgram(declareWorker(createProgram('oncue-worker')))
