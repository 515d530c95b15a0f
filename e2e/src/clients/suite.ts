import type { Outcome } from './outcomes.ts';

export interface Program {
  readonly path: string;
  readonly cwd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly results: 'ginkgo' | 'go-test' | 'pytest';
  readonly controllers?: Suite['controllers'];
  /** Whether simulated kubelets run the pods. */
  readonly kubelets?: boolean;
}

export interface Suite {
  readonly name: string;
  readonly controllers: boolean | readonly string[];
  readonly nodes?: readonly string[];
  readonly programs: readonly Program[];
}

export interface Scenario {
  readonly name: string;
  readonly files: readonly string[];
  run(dir: string): Promise<Outcome[]>;
}
