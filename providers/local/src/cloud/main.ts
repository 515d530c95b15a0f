#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

startProgram('local-cloud', () => import('./command.ts'));
