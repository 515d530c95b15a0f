/** The README of the battery describes the fields. */
export interface Step {
  readonly request?: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly text?: string;
  readonly capture?: Readonly<Record<string, string>>;
  readonly quiet?: boolean;
  readonly watch?: string;
  readonly events?: string;
  readonly eventually?: {
    readonly until: Readonly<Record<string, unknown>>;
    readonly every?: number;
    readonly timeout?: number;
  };
  readonly answer?: Answer;
}

export interface Answer {
  readonly status?: number;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly text?: string;
}
