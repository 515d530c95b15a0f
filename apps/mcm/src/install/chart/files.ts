import { version } from '../../command/version.ts';
import { grafanaFiles } from '../grafana/files.ts';
import { chartFiles } from './chart.ts';
import type { ProgramFlags } from './chart-flags.ts';
import { kustomizeFiles } from './kustomize.ts';

/**
 * Returns all generated files of `deploy/`, by their path in the workspace.
 * @param programs The flags that the chart accepts.
 */
export const deployFiles = (programs: ProgramFlags): ReadonlyMap<string, string> =>
  new Map([
    ...[...grafanaFiles()].map(([path, text]): [string, string] => [`deploy/grafana/${path}`, text]),
    ...[...kustomizeFiles()].map(([path, text]): [string, string] => [`deploy/kustomize/${path}`, text]),
    ...[...chartFiles(version(), programs)].map(([path, text]): [string, string] => [
      `deploy/helm/machine-controller-manager/${path}`,
      text,
    ]),
  ]);
