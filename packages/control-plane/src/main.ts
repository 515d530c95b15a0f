#!/usr/bin/env node
import { startProgram } from './start-program.ts';

startProgram('control-plane', () => import('./command.ts'));
