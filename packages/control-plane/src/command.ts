import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { Command, InvalidArgumentError } from 'commander';
import { limitHeap } from './heap-limits.ts';
import { alphaVersions } from './kinds/alpha/index.ts';
import { type ControlPlane, startControlPlane } from './plane.ts';
import type { Features } from './resources/registry.ts';
import { requestLogFile } from './server/request-log.ts';
import { StoreError } from './store/file-store.ts';

interface Flags {
  readonly port: number;
  readonly dataDir?: string;
  readonly memory?: boolean;
  readonly kubeconfig?: string;
  readonly advertiseAddress?: string;
  readonly controllers: boolean;
  readonly requestLog?: string;
  readonly eventTtl?: number;
  readonly runtimeConfig?: readonly string[];
  readonly featureGates?: Features;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('The port must be a number from 0 to 65535.');
  return port;
}

function parseAddress(text: string): string {
  if (!isIPv4(text) || text.startsWith('127.')) {
    throw new InvalidArgumentError('The address must be an IPv4 address outside of 127.0.0.0/8.');
  }
  return text;
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };

/** Parses durations such as `1h30m`, `90s` or `0` to milliseconds. */
function parseDuration(text: string): number {
  if (text === '0') return 0;
  if (!/^(\d+[hms])+$/.test(text)) throw new InvalidArgumentError('The value must be a duration such as 1h, 90m or 0.');
  const parts = text.matchAll(/(\d+)([hms])/g);
  return [...parts].reduce((sum, [, count = '', unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0), 0);
}

/** Parses the value of `--runtime-config` in the format of kube-apiserver, such as `lifecycle.k8s.io/v1alpha1=true`. */
function parseRuntimeConfig(text: string): string[] {
  return text.split(',').flatMap((entry) => {
    const [version = '', enabled = 'true'] = entry.split('=');
    if (!alphaVersions.includes(version))
      throw new InvalidArgumentError(`The alpha versions are ${alphaVersions.join(', ')}.`);
    if (!['true', 'false'].includes(enabled)) throw new InvalidArgumentError(`${version} must be true or false.`);
    return enabled === 'true' ? [version] : [];
  });
}

/** Parses the value of `--feature-gates` in the format of kube-apiserver, such as `ShardedListAndWatch=true`. */
function parseFeatureGates(text: string): Features {
  let features: Features = {};
  for (const entry of text.split(',')) {
    const [name = '', enabled = ''] = entry.split('=');
    if (name !== 'ShardedListAndWatch') throw new InvalidArgumentError('The only feature is ShardedListAndWatch.');
    if (!['true', 'false'].includes(enabled)) throw new InvalidArgumentError(`${name} must be true or false.`);
    features = { shardedListAndWatch: enabled === 'true' };
  }
  return features;
}

const command: Command = new Command('control-plane')
  .description('A Kubernetes control plane in one process.')
  .option('--port <port>', 'TCP port on 127.0.0.1; 0: any free port', parsePort, 0)
  .option('--data-dir <dir>', 'folder for the store, the certificates and the token')
  .option('--memory', 'store nothing on disk (default without --data-dir)')
  .option('--kubeconfig <file>', 'file for the kubeconfig of the administrator (mode 0600)')
  .option(
    '--advertise-address <address>',
    'IPv4 address in the Endpoints of the Service default/kubernetes; default: the first address of this host',
    parseAddress,
  )
  .option('--no-controllers', 'run only the API server, without controllers')
  .option(
    '--event-ttl <duration>',
    'time for which the server keeps events after their last write (default 1h); 0: until their deletion',
    parseDuration,
  )
  .option(
    '--runtime-config <versions>',
    'additional alpha API versions, such as lifecycle.k8s.io/v1alpha1=true',
    parseRuntimeConfig,
  )
  .option(
    '--feature-gates <features>',
    'additional alpha features, such as ShardedListAndWatch=true',
    parseFeatureGates,
  )
  .option('--request-log <file>', 'file for the request log, with one JSON line for each request')
  .helpOption('-h, --help', 'show this help')
  .configureOutput({
    outputError: (text, write) =>
      write(
        `control-plane: ${text
          .replace(/^error: /, '')
          .replace(/^unknown option '(--[^']+?)=.*'/s, '$1 takes no value')
          .replace('unknown option', 'unknown flag')
          .trim()
          .replaceAll('\n', ' ')}\n`,
      ),
  });

/** Removes the value of an unknown flag, because the parser would print the value, which may be a secret. */
const knownOrBare = (argument: string): string => {
  const [, flag] = /^(--[^=]+)=/.exec(argument) ?? [];
  return flag === undefined || command.options.some(({ long }) => long === flag) ? argument : flag;
};

command.parse(process.argv.slice(2).map(knownOrBare), { from: 'user' });

const flags = command.opts<Flags>();

function fail(error: unknown): never {
  process.stderr.write(`control-plane: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

if (flags.memory === true && flags.dataDir !== undefined) {
  fail(new Error('--memory cannot be used together with --data-dir'));
}

function openRequestLog(path: string) {
  try {
    return requestLogFile(path);
  } catch (error) {
    return fail(
      new Error(
        `--request-log must be a writable file: ${path} cannot be written: ${error instanceof Error ? error.message : error}`,
      ),
    );
  }
}

const log = flags.requestLog === undefined ? undefined : openRequestLog(flags.requestLog);

const announced = Promise.withResolvers<void>();

/** The mode of an existing file may allow access by other users, so the function changes the mode before it writes. */
function writePrivately(path: string, text: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() && (found.mode & 0o077) !== 0) chmodSync(path, 0o600);
  writeFileSync(path, text, { mode: 0o600 });
}

async function start(): Promise<ControlPlane> {
  const plane = await startControlPlane({
    port: flags.port,
    store: flags.dataDir === undefined ? 'memory' : { dir: flags.dataDir },
    controllers: flags.controllers,
    advertiseAddress: flags.advertiseAddress,
    runtimeConfig: flags.runtimeConfig,
    features: flags.featureGates,
    eventTtlMs: flags.eventTtl,
    // The controllers need half of the start time, so they start after the program has printed `ready`.
    controllersAfter: announced.promise,
    onControllerError: (controller, _key, error) => {
      if (controller === 'controllers') fail(error);
    },
    onStoreFailure: fail,
    onCheckpointError: ({ message }) => process.stderr.write(`control-plane: ${message}\n`),
    requestLog: log?.write,
  });
  if (flags.kubeconfig !== undefined) {
    try {
      writePrivately(flags.kubeconfig, plane.kubeconfig());
    } catch (error) {
      await plane.close();
      throw new Error(
        `--kubeconfig must be a writable file: ${flags.kubeconfig} cannot be written: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
  return plane;
}

const plane = await start().catch((error: unknown) =>
  fail(error instanceof StoreError ? `${error.message}; use another --data-dir` : error),
);

limitHeap();

let stopping = false;
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  try {
    await plane.close();
    log?.close();
    process.exit(0);
  } catch (error) {
    fail(error);
  }
}

process.on('SIGTERM', () => void stop());
process.on('SIGINT', () => void stop());
// A parent process with an IPC channel ends this process when the parent ends.
if (process.channel !== undefined) process.on('disconnect', () => void stop());

process.stdout.write(`ready ${plane.url}\n`);
announced.resolve();
