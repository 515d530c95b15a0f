import { mkdirSync } from 'node:fs';
import type { DataDir } from '../instance/data-dir.ts';
import type { CloudSide, Provider } from './clouds/provider.ts';
import type { ConfigServerPlace } from './config-server.ts';
import { continueLog } from './log-file.ts';
import type { ProgramSpec } from './processes.ts';

const PROGRAMS = {
  plane: 'control-plane',
  manager: 'machine-controller-manager',
  machineConfig: 'machine-config-controller',
} as const;

const spec = (
  data: DataDir,
  name: string,
  module: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ProgramSpec => {
  mkdirSync(data.file('logs'), { recursive: true });
  const logFile = data.file('logs', `${name}.log`);
  continueLog(logFile);
  return { name, module: import.meta.resolve(module), args, env, logFile };
};

export const planeProgram = (data: DataDir, port: number): ProgramSpec =>
  spec(data, PROGRAMS.plane, '@mcm/control-plane/main', [
    `--port=${port}`,
    `--data-dir=${data.file('control-plane')}`,
    `--kubeconfig=${data.file('kubeconfig')}`,
  ]);

/**
 * Returns the command of the cloud program.
 * @param more additional flags of the command
 */
export const cloudProgram = (
  data: DataDir,
  { cloud: { name, module, args, env } }: Provider,
  more: readonly string[] = [],
): ProgramSpec => spec(data, name, module, [...args, ...more], env);

/**
 * The flags for high rate limits. All machines of the fleet have one address, and the rate limits apply to each
 * address.
 */
const BOOT_LIMITS = ['--config-server-burst=10000', '--config-server-requests-per-minute=10000'];

/**
 * Returns the command of the machine-config-controller.
 * @param boots The settings of the config server. Without `boots`, the program has no config server.
 */
export const machineConfigProgram = (data: DataDir, namespace: string, boots?: ConfigServerPlace): ProgramSpec =>
  spec(data, PROGRAMS.machineConfig, '@mcm/machine-config-controller/main', [
    ...controllerFlags(data, namespace),
    '--machine-pools',
    ...(boots
      ? [`--config-server-port=${boots.port}`, `--config-server-cert-dir=${boots.certificates}`, ...BOOT_LIMITS]
      : []),
  ]);

/** Returns the command of the manager, which uses a free port. */
export const managerProgram = (data: DataDir, namespace: string): ProgramSpec =>
  spec(data, PROGRAMS.manager, '@mcm/machine-controller-manager/main', [
    ...controllerFlags(data, namespace),
    '--disruption-report',
  ]);

export function machineControllerProgram(
  data: DataDir,
  namespace: string,
  provider: Provider,
  cloud: CloudSide,
): ProgramSpec {
  const { name, module, args, env } = provider.machineController(cloud);
  return spec(data, name, module, [...controllerFlags(data, namespace), ...args], env);
}

const controllerFlags = (data: DataDir, namespace: string): string[] => [
  `--control-kubeconfig=${data.file('kubeconfig')}`,
  `--target-kubeconfig=${data.file('kubeconfig')}`,
  `--namespace=${namespace}`,
  '--bind-address=127.0.0.1',
  '--port=0',
];
