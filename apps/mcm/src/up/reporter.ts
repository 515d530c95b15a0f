import { realClock, type Timer } from '@mcm/kube';
import type { DataDir } from '../instance/data-dir.ts';
import type { FleetView } from '../screen/fleet.ts';
import { FleetLines } from '../screen/lines.ts';
import { LiveScreen } from '../screen/live-screen.ts';
import { renderScreen } from '../screen/render.ts';
import { followSuspension, type Suspension } from '../screen/suspension.ts';
import { shellPath } from './data/shell-path.ts';
import type { FleetWatch } from './fleet-watch.ts';
import type { UpOptions } from './options.ts';
import type { Program } from './processes.ts';

export interface Reporter {
  /** Must be called after a change. */
  changed(): void;
  onChange(listener: () => void): () => void;
  follow(fleet: FleetWatch): void;
  settled(fleet: FleetView): void;
  stopping(): void;
  /** Draws the last frame and restores the terminal. */
  end(): void;
}

interface ReporterIo {
  readonly stdout: NodeJS.WriteStream;
  /** Adapts a text to the terminal, for example removes colors. */
  readonly draw: (text: string) => string;
  readonly title: string;
  readonly startedAt: Date;
  readonly data: DataDir;
  readonly programs: readonly Program[];
}

const FRAME_MS = 100;
const TICK_MS = 1_000;
const EMPTY: FleetView = { deployments: [], machines: [], phases: new Map(), events: [], controllers: [] };

export const reporterFor = (options: UpOptions, io: ReporterIo): Reporter =>
  options.live ? new LiveReporter(io) : new LineReporter(io, options.quiet);

abstract class FramedReporter implements Reporter {
  protected readonly io: ReporterIo;
  protected fleet: FleetWatch | undefined;
  readonly #listeners = new Set<() => void>();
  #frame: Timer | undefined;

  constructor(io: ReporterIo) {
    this.io = io;
  }

  protected abstract draw(): void;
  abstract settled(fleet: FleetView): void;
  abstract stopping(): void;

  changed(): void {
    this.#frame ??= realClock.setTimeout(() => {
      this.#frame = undefined;
      this.draw();
      for (const listener of [...this.#listeners]) listener();
    }, FRAME_MS);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  follow(fleet: FleetWatch): void {
    this.fleet = fleet;
    this.changed();
  }

  end(): void {
    this.#frame?.cancel();
    this.draw();
  }

  protected kubectl(): string {
    return `kubectl --kubeconfig ${shellPath(this.io.data.file('kubeconfig'))} get machinedeployments,machinesets,machines,nodes`;
  }
}

class LiveReporter extends FramedReporter {
  readonly #screen: LiveScreen;
  /** Restores the terminal if an error ends the process. */
  readonly #onExit = (): void => this.#screen.close();
  readonly #suspension: Suspension;
  #tick: Timer | undefined;
  #stopping = false;

  constructor(io: ReporterIo) {
    super(io);
    this.#screen = new LiveScreen(io.stdout);
    process.once('exit', this.#onExit);
    io.stdout.on('resize', () => {
      this.#screen.resized();
      this.changed();
    });
    this.#suspension = followSuspension({
      suspend: () => this.#screen.suspend(),
      resume: () => {
        this.#screen.resume();
        this.draw();
      },
    });
    this.#schedule();
  }

  /** Draws the next frame after some time even without an event, because ages change. */
  #schedule(): void {
    this.#tick = realClock.setTimeout(() => {
      this.#suspension.check();
      this.changed();
      this.#schedule();
    }, TICK_MS);
  }

  protected draw(): void {
    this.#screen.draw(this.#text());
  }

  #text(): string {
    const { draw, title, startedAt, programs } = this.io;
    return draw(
      renderScreen({
        title,
        startedAt,
        now: realClock.now(),
        programs: programs.map(({ spec, state, address, restarts }) => ({
          name: spec.name,
          state,
          address,
          restarts,
        })),
        fleet: this.fleet?.view() ?? EMPTY,
        hint: this.#stopping
          ? ['Stopping …']
          : [
              ...programs.flatMap(({ problem }) => problem || []),
              this.kubectl(),
              'Ctrl-C stops all programs; the next start continues with the same machines.',
            ],
        ...this.#screen.size,
      }),
    );
  }

  settled(): void {
    this.changed();
  }

  stopping(): void {
    this.#stopping = true;
    this.#tick?.cancel();
    this.draw();
  }

  override end(): void {
    super.end();
    this.#suspension.end();
    process.removeListener('exit', this.#onExit);
    this.#screen.close(this.#text());
  }
}

class LineReporter extends FramedReporter {
  readonly #quiet: boolean;
  readonly #lines = new FleetLines();
  readonly #programs = new Map<string, string>();
  readonly #problems = new Map<string, string>();

  constructor(io: ReporterIo, quiet: boolean) {
    super(io);
    this.#quiet = quiet;
  }

  protected draw(): void {
    for (const { spec, state, address, problem } of this.io.programs) {
      const text = state === 'ready' ? `ready ${address}` : state;
      if (this.#programs.get(spec.name) !== text) this.#say(`${spec.name} ${text}`);
      this.#programs.set(spec.name, text);
      if (problem !== '' && this.#problems.get(spec.name) !== problem) this.#say(`${spec.name}: ${problem}`);
      this.#problems.set(spec.name, problem);
    }
    if (this.fleet) for (const line of this.#lines.next(this.fleet.view(), realClock.now())) this.#say(line);
  }

  settled(fleet: FleetView): void {
    this.draw();
    const running = fleet.machines.filter((machine) => machine.phase === 'Running').length;
    this.io.stdout.write(`ready: ${running} ${running === 1 ? 'machine' : 'machines'} Running\n`);
    this.#say(this.kubectl());
  }

  stopping(): void {
    this.fleet = undefined;
  }

  #say(line: string): void {
    if (!this.#quiet) this.io.stdout.write(`${line}\n`);
  }
}
