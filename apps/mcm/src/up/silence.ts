import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { type Clock, pause } from '@mcm/kube';
import type { ControllerHealth } from '../controllers/health.ts';
import { CONTROL_PLANE, type SilentProgram, silentHealth } from '../controllers/programs.ts';
import type { ProgramState } from '../screen/render.ts';

interface Served {
  readonly spec: { readonly name: string };
  readonly state: ProgramState;
  readonly address: string;
  readonly pid: number | undefined;
}

const CHECK_MS = 2_000;
const SILENT_MS = 10_000;

interface SilenceOptions {
  readonly clock: Clock;
  readonly programs: readonly Served[];
  readonly cloud: string;
  readonly ask: (address: string, signal: AbortSignal) => Promise<void>;
}

interface SilenceRun {
  readonly health: () => readonly ControllerHealth[];
  readonly record: (silent: readonly SilentProgram[]) => void;
  /** Called after each check, because no event occurs if a program stops. */
  readonly onCheck: () => void;
  readonly signal: AbortSignal;
}

/**
 * Finds programs that are running but do not respond, for example after SIGSTOP. The cloud receives a request every 2
 * s. The control plane needs no request, because the watch of the Leases notices missing responses.
 */
export class Silence {
  readonly #options: SilenceOptions;
  #answeredAt: Date;
  #asking: AbortController | undefined;

  constructor(options: SilenceOptions) {
    this.#options = options;
    this.#answeredAt = options.clock.now();
  }

  health(): readonly ControllerHealth[] {
    const late = this.#options.clock.now().getTime() - this.#answeredAt.getTime() > SILENT_MS;
    return late ? [silentHealth(this.#programOf(this.#options.cloud, this.#answeredAt.toISOString()))] : [];
  }

  /** Checks the cloud until the signal is aborted. */
  async run({ health, record, onCheck, signal }: SilenceRun): Promise<void> {
    let recorded = '[]';
    while (!signal.aborted) {
      void this.#check();
      const silent = health()
        .filter(({ name }) => name === CONTROL_PLANE || name === this.#options.cloud)
        .map(({ name, since = '' }) => this.#programOf(name, since));
      if (JSON.stringify(silent) !== recorded) record(silent);
      recorded = JSON.stringify(silent);
      onCheck();
      await pause(this.#options.clock, CHECK_MS, signal);
    }
    this.#asking?.abort();
  }

  async #check(): Promise<void> {
    const { clock, ask } = this.#options;
    const program = this.#find(this.#options.cloud);
    if (program?.state !== 'ready' || program.address.endsWith('/none')) {
      this.#asking?.abort();
      this.#answeredAt = clock.now();
      return;
    }
    if (this.#asking !== undefined) return;
    const asking = new AbortController();
    this.#asking = asking;
    const answered = await ask(program.address, asking.signal).then(
      () => true,
      () => false, // The connection failed, or the request was aborted.
    );
    this.#asking = undefined;
    if (answered) this.#answeredAt = clock.now();
  }

  #find(name: string): Served | undefined {
    return this.#options.programs.find(({ spec }) => spec.name === name);
  }

  #programOf(name: string, since: string): SilentProgram {
    return { name, since, pid: this.#find(name)?.pid };
  }
}

/** Sends a request to an address. The request contains no secret, so the certificate of the server is not verified. */
export const askAddress = (address: string, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const get = address.startsWith('https:') ? getHttps : getHttp;
    get(address, { signal, agent: false, rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve();
    }).once('error', reject);
  });
