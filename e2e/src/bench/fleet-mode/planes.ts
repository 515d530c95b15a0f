import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export type HostRequest =
  | { readonly do: 'seed' }
  | { readonly do: 'targets'; readonly count: number; readonly machines: number }
  | { readonly do: 'stick'; readonly index: number; readonly stuck: boolean }
  | { readonly do: 'counts' };

export interface HostResponse {
  readonly kubeconfigs?: readonly string[];
  readonly counts?: Readonly<Record<string, number>>;
}

/** Runs many control planes in one process. */
export class PlaneHost {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(new URL('planes-main.ts', import.meta.url)), {
      execArgv: ['--conditions=source', '--no-maglev'],
    });
  }

  ask(request: HostRequest): Promise<HostResponse> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null): void => reject(new Error(`the control planes ended with ${code}`));
      this.#child.once('exit', ended);
      this.#child.once('message', (response: HostResponse) => {
        this.#child.off('exit', ended);
        resolve(response);
      });
      this.#child.send(request);
    });
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}
