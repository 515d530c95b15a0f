export interface ClassInput {
  readonly provider: string;
  readonly spec: object;
  readonly secret: Readonly<Record<string, string>>;
}
