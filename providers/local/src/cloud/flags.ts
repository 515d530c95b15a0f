import { reportRefusals } from '@mcm/kube/flags';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type KubeletBehaviour, kubeletBehaviour } from '../machine/behaviour.ts';
import { parseDuration } from '../values/duration.ts';
import type { Latencies } from './context/settings.ts';
import { DEFAULT_ZONES } from './create-cloud.ts';

/** The command line of `local-cloud`, checked. */
export interface CloudFlags {
  readonly port: number;
  /** Undefined: in memory. */
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
  throw new InvalidArgumentError('It takes a whole number from 0 to 65535.');
};
const duration = (text: string): number => {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('It takes a duration such as 500ms, 5s or 1m30s.');
};
const zoneList = (text: string): readonly string[] => {
  const zones = text.split(',').map((zone) => zone.trim());
  if (zones.every((zone) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(zone))) return zones;
  throw new InvalidArgumentError('It takes names of lower-case letters, digits and dashes, separated by commas.');
};
const podShutdown = (text: string): KubeletBehaviour['podShutdown'] => {
  const parsed = kubeletBehaviour.shape.podShutdown.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError('It takes grace, immediate, or a duration such as 5s.');
};

function command(): Command {
  return reportRefusals(new Command('local-cloud'))
    .description('A small cloud on this machine, with an HTTP API. Its instances boot hollow kubelets.')
    .allowExcessArguments(false)
    .option('--port <port>', 'port on 127.0.0.1; 0 takes a free one', port, 0)
    .addOption(new Option('--data-dir <dir>', 'folder that keeps the instances').conflicts('memory'))
    .option('--memory', 'keep nothing beyond the end of the process (default without --data-dir)')
    .option('--zones <names>', 'zones, separated by commas', zoneList, [...DEFAULT_ZONES])
    .addOption(
      new Option('--images <policy>', 'which images boot')
        .choices(['any', 'registered'] as const)
        .default('any' as const),
    )
    .option('--boot-latency <duration>', 'from creation to running', duration, 0)
    .option('--shutdown-latency <duration>', 'from deletion to terminated', duration, 0)
    .option('--volume-latency <duration>', 'of attaching and detaching volumes', duration, 0)
    .option('--api-latency <duration>', 'before any answer', duration, 0)
    .option('--node-kubeconfig <file>', 'ready credentials for all kubelets; bootstrap tokens are only proven then')
    .option('--kubelet-join-delay <duration>', 'from power-on to joining', duration)
    .option('--kubelet-ready-delay <duration>', 'from joining to Ready', duration)
    .option('--kubelet-pod-ready-delay <duration>', 'from a pod’s start to its readiness', duration)
    .option('--kubelet-pod-shutdown <how>', 'how long pods take to end: grace, immediate, or a duration', podShutdown)
    .option('--config-daemon', 'the machines play the daemon of machine configs')
    .addOption(
      new Option('--log-level <level>', 'least level of log lines')
        .choices(['debug', 'info', 'warn', 'error'] as const)
        .default('info' as const),
    )
    .addHelpText(
      'after',
      '\nThe bearer token that callers must send is read from MCM_LOCAL_CLOUD_TOKEN; without it none is asked for.',
    );
}

/** Parses the command line; prints help or the mistake and ends the process where commander does. */
export function parseFlags(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): CloudFlags {
  const raw = command().parse(argv, { from: 'user' }).opts<RawFlags>();
  const kubelet: KubeletBehaviour = {
    ...(raw.kubeletJoinDelay === undefined ? {} : { joinDelay: raw.kubeletJoinDelay }),
    ...(raw.kubeletReadyDelay === undefined ? {} : { readyDelay: raw.kubeletReadyDelay }),
    ...(raw.kubeletPodReadyDelay === undefined ? {} : { podReadyDelay: raw.kubeletPodReadyDelay }),
    ...(raw.kubeletPodShutdown === undefined ? {} : { podShutdown: raw.kubeletPodShutdown }),
    ...(raw.configDaemon === true ? { configDaemon: true } : {}),
  };
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
