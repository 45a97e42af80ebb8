#!/usr/bin/env node
import { runProgram } from '@oncue/db/cli'
import { createOncue } from './program.ts'

await runProgram(createOncue())
