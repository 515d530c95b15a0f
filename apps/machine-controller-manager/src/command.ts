import { runBinary, tracingSettings } from '@mcm/kube';
import { managerBinary } from './binary.ts';

process.exit(await runBinary(managerBinary(tracingSettings(process.env))));
