import { defined } from '@mcm/kube';
import { reportRefusals } from '@mcm/kube/flags';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type KubeletBehaviour, kubeletBehaviour } from '../machine/behaviour.ts';
import { parseDuration } from '../values/duration.ts';
import type { Latencies } from './context/settings.ts';
import { DEFAULT_ZONES } from './create-cloud.ts';

export interface CloudFlags {
  readonly port: number;
  /** The folder of the data. If `dataDir` is undefined, the data is in memory. */
  readonly dataDir: string | undefined;
  readonly token: string | undefined;
  readonly zones: readonly string[];
  readonly imagePolicy: 'any' | 'registered';
  readonly latencies: Latencies;
  readonly nodeKubeconfig: string | undefined;
  readonly kubelet: KubeletBehaviour;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

interface RawFlags {
  readonly port: number;
  readonly dataDir?: string;
  readonly memory?: true;
  readonly zones: readonly string[];
  readonly images: 'any' | 'registered';
  readonly bootLatency: number;
  readonly shutdownLatency: number;
  readonly volumeLatency: number;
  readonly apiLatency: number;
  readonly nodeKubeconfig?: string;
  readonly kubeletJoinDelay?: number;
  readonly kubeletReadyDelay?: number;
  readonly kubeletPodReadyDelay?: number;
  readonly kubeletPodShutdown?: KubeletBehaviour['podShutdown'];
  readonly configDaemon?: true;
  readonly logLevel: CloudFlags['logLevel'];
}

const port = (text: string): number => {
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('The value must be a whole number from 0 to 65535.');
};
const duration = (text: string): number => {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('The value must be a duration such as 500ms, 5s or 1m30s.');
};
const zoneList = (text: string): readonly string[] => {
  const zones = text.split(',').map((zone) => zone.trim());
  if (zones.every((zone) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(zone))) return zones;
  throw new InvalidArgumentError(
    'The value must be a list of names of lower-case letters, digits and dashes, separated by commas.',
  );
};
const podShutdown = (text: string): KubeletBehaviour['podShutdown'] => {
  const parsed = kubeletBehaviour.shape.podShutdown.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError('The value must be grace, immediate, or a duration such as 5s.');
};

function command(): Command {
  return reportRefusals(new Command('local-cloud'))
    .description('A simulated cloud on this machine, with an HTTP API. The instances run simulated kubelets.')
    .allowExcessArguments(false)
    .option('--port <port>', 'port on 127.0.0.1; 0: any free port', port, 0)
    .addOption(new Option('--data-dir <dir>', 'folder for the state of the instances').conflicts('memory'))
    .option('--memory', 'store nothing on disk (default without --data-dir)')
    .option('--zones <names>', 'zones, separated by commas', zoneList, [...DEFAULT_ZONES])
    .addOption(
      new Option('--images <policy>', 'bootable images')
        .choices(['any', 'registered'] as const)
        .default('any' as const),
    )
    .option('--boot-latency <duration>', 'time from the creation of an instance until it runs', duration, 0)
    .option(
      '--shutdown-latency <duration>',
      'time from the deletion of an instance until it is terminated',
      duration,
      0,
    )
    .option('--volume-latency <duration>', 'time to attach or detach a volume', duration, 0)
    .option('--api-latency <duration>', 'delay before each response of the API', duration, 0)
    .option(
      '--node-kubeconfig <file>',
      'kubeconfig that all kubelets use; the kubelets then only verify their bootstrap tokens',
    )
    .option('--kubelet-join-delay <duration>', 'time from the start of an instance until its node joins', duration)
    .option('--kubelet-ready-delay <duration>', 'time from the join of a node until the node is Ready', duration)
    .option('--kubelet-pod-ready-delay <duration>', 'time from the start of a pod until the pod is ready', duration)
    .option(
      '--kubelet-pod-shutdown <how>',
      'time to terminate a pod: grace (its grace period), immediate, or a duration',
      podShutdown,
    )
    .option('--config-daemon', 'the machines simulate the machine-config-daemon')
    .addOption(
      new Option('--log-level <level>', 'minimum level of log lines')
        .choices(['debug', 'info', 'warn', 'error'] as const)
        .default('info' as const),
    )
    .addHelpText(
      'after',
      '\nMCM_LOCAL_CLOUD_TOKEN contains the bearer token of clients. Without this variable, clients need no token.',
    );
}

/** After `--help` or an error, the parser prints a text and ends the process. */
export function parseFlags(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): CloudFlags {
  const raw = command().parse(argv, { from: 'user' }).opts<RawFlags>();
  const kubelet: KubeletBehaviour = defined({
    joinDelay: raw.kubeletJoinDelay,
    readyDelay: raw.kubeletReadyDelay,
    podReadyDelay: raw.kubeletPodReadyDelay,
    podShutdown: raw.kubeletPodShutdown,
    configDaemon: raw.configDaemon === true ? true : undefined,
  });
  return {
    port: raw.port,
    dataDir: raw.dataDir,
    token: env.MCM_LOCAL_CLOUD_TOKEN || undefined,
    zones: raw.zones,
    imagePolicy: raw.images,
    latencies: {
      bootMs: raw.bootLatency,
      shutdownMs: raw.shutdownLatency,
      volumeMs: raw.volumeLatency,
      apiMs: raw.apiLatency,
    },
    nodeKubeconfig: raw.nodeKubeconfig,
    kubelet,
    logLevel: raw.logLevel,
  };
}
