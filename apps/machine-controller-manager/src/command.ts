import { runBinary } from '@mcm/kube';
import { machineControllerManager } from './binary.ts';

process.exit(await runBinary(machineControllerManager));
