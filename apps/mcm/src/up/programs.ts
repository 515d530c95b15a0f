import { mkdirSync } from 'node:fs';
import type { DataDir } from './data-dir.ts';
import type { ProgramSpec } from './processes.ts';

/** Names under which the programs appear on the screen and in `logs/`. */
export const PROGRAMS = {
  plane: 'control-plane',
  cloud: 'local-cloud',
  manager: 'machine-controller-manager',
  machineController: 'machine-controller-local',
} as const;

const spec = (
  data: DataDir,
  name: string,
  module: string,
  args: readonly string[],
  env: Record<string, string> = {},
): ProgramSpec => {
  mkdirSync(data.file('logs'), { recursive: true });
  return { name, module: import.meta.resolve(module), args, env, logFile: data.file('logs', `${name}.log`) };
};

export const planeProgram = (data: DataDir, port: number): ProgramSpec =>
  spec(data, PROGRAMS.plane, '@mcm/control-plane/main', [
    `--port=${port}`,
    `--data-dir=${data.file('control-plane')}`,
    `--kubeconfig=${data.file('kubeconfig')}`,
  ]);

/** On any free port: the Secret is told at each start where it is. The token reaches the cloud through its environment: command lines are visible to everybody on a machine. */
export const cloudProgram = (data: DataDir, token: string): ProgramSpec =>
  spec(data, PROGRAMS.cloud, '@mcm/provider-local/cloud/main', ['--port=0', `--data-dir=${data.file('cloud')}`], {
    MCM_LOCAL_CLOUD_TOKEN: token,
  });

/** The two containers of the production pod, with ports of their own choice. */
export const managerProgram = (data: DataDir, namespace: string): ProgramSpec =>
  spec(data, PROGRAMS.manager, '@mcm/machine-controller-manager/main', controllerFlags(data, namespace));

export const machineControllerProgram = (data: DataDir, namespace: string): ProgramSpec =>
  spec(data, PROGRAMS.machineController, '@mcm/provider-local/main', controllerFlags(data, namespace));

const controllerFlags = (data: DataDir, namespace: string): string[] => [
  `--control-kubeconfig=${data.file('kubeconfig')}`,
  `--target-kubeconfig=${data.file('kubeconfig')}`,
  `--namespace=${namespace}`,
  '--bind-address=127.0.0.1',
  '--port=0',
];
