import { type Clock, errorText, type KubeClient, type Logger, pause } from '@mcm/kube';
import { ASSUMED, type MachineSettings, readMachineSettings } from '../explain/settings/machine-settings.ts';
import { assumedSettings, type ManagerSettings, readManagerSettings } from '../explain/settings/manager-settings.ts';

export interface Settings {
  readonly manager: ManagerSettings;
  readonly ofMachines: MachineSettings;
}

/** The flags of a controller change only when its process restarts, so polling is sufficient. */
const AGAIN_MS = 60_000;

/** Reads the settings repeatedly until the signal is aborted. */
export function followSettings(
  client: KubeClient,
  namespace: string,
  { clock, log, signal, onChange }: { clock: Clock; log: Logger; signal: AbortSignal; onChange: () => void },
): () => Settings {
  let settings: Settings = {
    manager: assumedSettings('mcm has not read the Lease of the controller yet'),
    ofMachines: ASSUMED,
  };
  const read = async (): Promise<void> => {
    try {
      const [manager, ofMachines] = await Promise.all([
        readManagerSettings(client, namespace),
        readMachineSettings(client, namespace),
      ]);
      const changed = JSON.stringify(settings) !== JSON.stringify({ manager, ofMachines });
      settings = { manager, ofMachines };
      if (changed) onChange();
    } catch (error) {
      // The log level is debug, because the page already shows that the API server does not respond.
      log.debug('Cannot read the Leases', { error: errorText(error) });
    }
  };
  void (async () => {
    while (!signal.aborted) {
      await read();
      await pause(clock, AGAIN_MS, signal);
    }
  })();
  return () => settings;
}
