#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

startProgram('mcm', () => import('./command.ts'));
