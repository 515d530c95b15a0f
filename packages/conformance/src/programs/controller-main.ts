#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

startProgram('machine-controller', () => import('./controller.ts'));
