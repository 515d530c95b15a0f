/** A class and its Secret, with the fields that the test needs. */
export interface ClassInput {
  readonly provider: string;
  readonly spec: object;
  readonly secret: Readonly<Record<string, string>>;
}
