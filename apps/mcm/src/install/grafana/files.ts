import { boardJson } from './board.ts';
import { CONTROLLERS } from './controllers.ts';
import { MACHINES } from './machines.ts';

export const grafanaFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['machines.json', boardJson(MACHINES)],
    ['controllers.json', boardJson(CONTROLLERS)],
  ]);
