import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { machineClasses, machines } from '@mcm/api';
import {
  type BinaryContext,
  type BinaryDefinition,
  makeKey,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  type Random,
  realClock,
  runBinary,
  secrets,
  type Unit,
  undiciTransport,
  volumeAttachments,
} from '@mcm/kube';
import type { DriverContext } from '../driver/context.ts';
import type { DriverDefinition } from '../driver/define-driver.ts';
import { registerDriverMetrics } from '../metrics/driver.ts';
import { registerMachineMetrics } from '../metrics/machine.ts';
import { buildMachineController } from './build.ts';
import { checkMachineFlags, defaultsOf, machineFlags, orphanOptionsOf, reachabilityOf, timeoutsOf } from './flags.ts';

/** Name of the Lease and of the event source: the original's, so that the two never work at once. */
const NAME = 'machine-controller';

/** The controllers of `buildMachineController` with queues of their own. */
const CONTROLLERS = ['machine', 'secret', 'machineclass', 'machinesafetyorphanvms', 'machinesafetyapiserver'];

/** Randomness that nobody can guess. */
const secretRandom: Random = { next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48 };

type MachineFlags = typeof machineFlags;

/** The `machine-controller` binary around a driver. */
export const machineControllerBinary = <Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  version = '0.1.0',
): BinaryDefinition<MachineFlags> => ({
  name: `${NAME}-${driver.name}`,
  version,
  description: `Machine controller of the ${driver.name} provider: makes, watches, drains and deletes machines.`,
  leaseName: NAME,
  metricsPrefix: 'mcm_',
  defaults: { port: 10_259, concurrency: 50, controllers: CONTROLLERS },
  flags: machineFlags,
  check: checkMachineFlags,
  units: (context) => [unitOf(driver, context)],
});

function unitOf<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  context: BinaryContext<MachineFlags>,
): Unit {
  const { control, target, namespace, clock, random, log, recorder, metrics, runtime, flags } = context;
  const driverMetrics = registerDriverMetrics(metrics.meters, driver.name, clock);
  const controller = buildMachineController({
    driver,
    control,
    target,
    namespace,
    clock,
    random,
    secretRandom,
    log,
    recorder,
    runtime,
    defaults: defaultsOf(flags),
    concurrency: flags['concurrent-syncs'],
    concurrencyByController: flags['concurrent-syncs-by-controller'],
    bootstrapTokenExtraGroups: flags['bootstrap-token-auth-extra-groups'],
    timeouts: timeoutsOf(flags),
    orphans: orphanOptionsOf(flags),
    reachability: reachabilityOf(flags),
    volumeWindow: flags['drain-volume-window'],
    evidencePerClass: flags['failure-evidence-per-class'],
    queueMetrics: metrics.queues,
    observeCall: driverMetrics.observe,
    observeApi: driverMetrics.observeApi,
  });
  const { machines: cached, classes } = controller.caches;
  const stages = registerMachineMetrics(metrics.meters, {
    machines: cached,
    classOf: ({ metadata, spec }) => classes.store.get(makeKey(metadata.namespace, spec.class.name ?? '')),
    frozen: controller.frozen,
    clock,
  });
  driverMetrics.tellStages(stages);
  const inTarget = [nodes, pods, podDisruptionBudgets, persistentVolumeClaims, persistentVolumes, volumeAttachments];
  return {
    name: NAME,
    needs: [
      ...[machines, machineClasses, secrets].map((definition) => ({ client: control, definition })),
      ...(target ? inTarget.map((definition) => ({ client: target, definition })) : []),
    ],
    informers: controller.informers,
    run: async (signal) => {
      await controller.runControllers(signal);
      await recorder.flush();
    },
  };
}

/** Connections of a process to its cloud. */
const CONNECTIONS = 64;

/** Time, randomness and network of this process, for a driver. To be called from a provider's `main` and nowhere else. */
export const processContext = (): DriverContext => ({
  clock: realClock,
  random: secretRandom,
  connect: (server) => undiciTransport({ server, connections: CONNECTIONS }),
});

/**
 * Runs a provider's machine controller as this process, and ends the process with its exit code: 0 after a request to
 * end, 1 when it cannot start or lost its lease. To be called from a provider's `main` and nowhere else.
 */
export async function runMachineController<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  options: { readonly version?: string } = {},
): Promise<never> {
  // A first list of 20,000 pods lets V8's young generation grow and never shrink again: 233 MB resident instead of 170.
  setFlagsFromString('--semi-space-growth-factor=1');
  process.exit(await runBinary(machineControllerBinary(driver, options.version)));
}
