#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

startProgram('cloud', () => import('./command.ts'));
