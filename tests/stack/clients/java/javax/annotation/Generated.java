package javax.annotation;

/** Left the JDK in version 11; the generated files carry it. */
public @interface Generated {
  String[] value();

  String date() default "";

  String comments() default "";
}
