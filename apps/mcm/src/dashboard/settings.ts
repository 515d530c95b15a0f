import { type Clock, errorText, type KubeClient, type Logger, pause } from '@mcm/kube';
import { ASSUMED, type MachineSettings, readMachineSettings } from '../explain/settings/machine-settings.ts';
import { assumedSettings, type ManagerSettings, readManagerSettings } from '../explain/settings/manager-settings.ts';

/** How the controllers that lead decide, as far as anybody can know. */
export interface Settings {
  readonly manager: ManagerSettings;
  readonly ofMachines: MachineSettings;
}

/** Their Leases are written every few seconds and their flags change with their processes: a watch would tell of little else. */
const AGAIN_MS = 60_000;

/** Reads the settings now and again until the signal aborts; what was read last counts where that fails. */
export function followSettings(
  client: KubeClient,
  namespace: string,
  { clock, log, signal, onChange }: { clock: Clock; log: Logger; signal: AbortSignal; onChange: () => void },
): () => Settings {
  let settings: Settings = { manager: assumedSettings('its Lease has not been read yet'), ofMachines: ASSUMED };
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
      // The watches tell the page that the server does not answer.
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
